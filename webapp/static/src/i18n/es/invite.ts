import type { Catalogue } from "..";

export const invite: Catalogue["invite"] = {
  copied: "Se copió la dirección.",
  copyYourself:
    "Este navegador no deja que la página copie. La dirección está seleccionada: cópiala desde ahí.",
};
