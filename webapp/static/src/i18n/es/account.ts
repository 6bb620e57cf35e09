import type { Catalogue } from "..";

export const account: Catalogue["account"] = {
  welcome: "Te damos la bienvenida",
  back: (name) => `Hola de nuevo, ${name}`,
  silent: "El servidor no responde. Revisa tu red y vuelve a intentarlo.",
  copied: "Se copió.",
  noCopy: "Este navegador no deja que la página copie. Está seleccionado: cópialo desde ahí.",
  cut: "Esta dirección está cortada: una invitación sigue detrás del #. Ábrela tal como te la enviaron.",
  noPasskey: "No había ninguna llave de acceso, o no se dio. Vuelve a intentarlo o entra de otra manera.",
  questionRemove: (name) =>
    `¿Eliminar a ${name} con todas sus claves, tokens, funciones y borradores? Nadie podrá recuperar la cuenta.`,
  odd: (status) => `El servidor responde ${status}. Vuelve a intentarlo en un minuto.`,
};
