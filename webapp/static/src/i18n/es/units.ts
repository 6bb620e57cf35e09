import type { Catalogue } from "..";
import { counted, either, number, percent } from "../formatting";
import { figures } from "./figures";

const unidades = (units: number) => counted(units, "unidad", "unidades");
const coincidencias = (checked: number) =>
  `${counted(checked, "resultado tuyo seguido", "resultados tuyos seguidos")} ${either(checked, "coincide", "coinciden")} con lo que enviaron otros`;

export const units: Catalogue["units"] = {
  press: "Pulsa el botón y tu dispositivo recibe su primera unidad: una parte de los ejemplos.",
  finishing: (units) => `Tu dispositivo termina ${unidades(units)} y luego para.`,
  unit: (unit, epoch) => `Unidad ${number(unit)} de la época ${number(epoch)}`,
  fetching: "Entrenando: descargando los ejemplos",
  beginning: "Entrenando: el primer paso",
  allDone: "Todas las épocas han terminado. ¡Gracias por tu parte!",
  sending: "Enviando lo aprendido",
  sendingHint: (unit) => `${unit}: así es como tu dispositivo cambiaría el modelo.`,
  waiting: "Esperando una unidad",
  idle: {
    nothing:
      "Todo lo que hay que hacer está en otros dispositivos, o espera a uno de otra red. El tuyo recibe una unidad en cuanto la haya.",
    quota: "Tu dispositivo hizo todas las unidades que puede hacer hoy. Sigue mañana.",
    reliable:
      "Las últimas unidades de una época van a dispositivos que antes llegaron a tiempo. El tuyo recibe una si ellos no llegan.",
    bound: "Tu dispositivo va muy por delante. Espera a que lo alcancen los más lentos.",
    released:
      "Desde aquí se devolvieron unidades. La espera por la siguiente crece cada vez y termina sola; los resultados la acortan.",
    paused:
      "La tarea está en pausa por decisión de quien la creó. Tu dispositivo sigue solo cuando siga la tarea.",
    over: "Todas las épocas han terminado.",
  },
  soon: "Llega en un momento.",
  quotaDone: "Suficiente por hoy",
  ready: "Tu unidad está lista y sale en cuanto vuelva el servidor.",
  counting: (units) =>
    `${either(units, "Cuenta", "Cuentan")} ${counted(units, "unidad tuya", "unidades tuyas")}.`,
  doing: {
    waiting: "es la siguiente",
    training: "se entrena",
    sending: "se envía",
    checked: "se revisa",
    compared: "espera a que otro dispositivo también la haga",
    blended: "forma parte del modelo",
    counted: "cuenta: coincide con lo que enviaron otros",
    rejected: "no cuenta",
    dropped: "ya no hace falta",
    released: "se devolvió",
  },
  step: (step, steps) => `se entrena: paso ${number(step)} de ${number(steps)}`,
  newcomer:
    "Tu dispositivo es nuevo aquí. Lo que envía cuenta cuando otro dispositivo, con los mismos ejemplos, llega a lo mismo.",
  newcomerSoFar: (checked) => `${coincidencias(checked)}. Con algunos más contarán enseguida.`,
  trusted: (checked) =>
    `${coincidencias(checked)}: tu dispositivo es de confianza y sus resultados cuentan enseguida. De vez en cuando se compara alguno de todos modos.`,
  sampled: (checked) =>
    `${checked === 0 ? "" : `${coincidencias(checked)}. `}Lo que envía tu dispositivo cuenta según llega. De vez en cuando algo se compara antes con lo que otros sacan de los mismos ejemplos.`,
  uncompared:
    "Lo que envía tu dispositivo cuenta según llega: nadie repite los mismos ejemplos para comparar.",
  quota: (quota) => `Hoy puede hacer ${counted(quota, "unidad más", "unidades más")}.`,
  epoch: (epoch, epochs) => `Época ${number(epoch)} de ${number(epochs)}`,
  done: (done, units) =>
    `${number(done)} de ${unidades(units)} ${either(done, "está", "están")} en el modelo`,
  atWork: (leased) => `${number(leased)} ${either(leased, "está", "están")} en dispositivos`,
  compared: (compared) => `${number(compared)} ${either(compared, "espera", "esperan")} comparación`,
  people: (browsers, peers) =>
    `Participan ${counted(browsers, "navegador", "navegadores")} y ${counted(peers, "nodo")}.`,
  measured: (results, accuracy, loss) =>
    `Con ${counted(results, "resultado")} dentro, el modelo ${accuracy === null ? "tiene una pérdida de" : `acierta con el ${percent(accuracy)} de los ejemplos con los que nadie entrena; su pérdida es`} ${figures.loss(loss)}.`,
};
