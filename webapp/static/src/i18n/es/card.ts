import type { Catalogue } from "..";
import { counted, number } from "../formatting";
import { figures } from "./figures";

export const card: Catalogue["card"] = {
  start: "Empezar a entrenar",
  stop: "Parar",
  ready: "Cuando quieras",
  press: "Pulsa el botón y tu dispositivo se suma a la próxima ronda.",
  pressWith: (examples) =>
    `Pulsa el botón y tu dispositivo se suma a la próxima ronda con ${counted(examples, "ejemplo tuyo", "ejemplos tuyos")}.`,
  chooseFirst: "Elige primero tus ejemplos",
  learnsFromYours: "Esta tarea aprende de lo que tú tienes, en tu dispositivo.",
  stopped: "Parado",
  startAgain: "Vuelve a empezar cuando quieras.",
  thanks: "Parado. ¡Gracias!",
  connecting: "Conectando",
  lookingForServer: "Buscando el servidor.",
  gettingReady: "Preparando",
  fetchingModel: "Descargando el modelo y cronometrando un paso en este dispositivo.",
  again: (problem) => `${problem} Se intenta de nuevo.`,
  needed: (count) => `Esperando a ${counted(count, "participante más", "participantes más")}`,
  sendTheAddress:
    "El entrenamiento empieza cuando haya suficientes. Envía la dirección a un amigo o ábrela en otro dispositivo.",
  nextRound: "Esperando la próxima ronda",
  inFromNext: "Participas a partir de la próxima ronda.",
  opensSoon: "Se abre en un momento.",
  paused: "En pausa por decisión de quien creó la tarea",
  pausedStay:
    "Tu dispositivo espera y sigue solo cuando siga el entrenamiento. También puedes irte y volver más tarde.",
  measuring: "Midiendo la nueva versión",
  measuringHere: "Tu dispositivo la prueba con ejemplos con los que nadie entrena.",
  trained: "El modelo está entrenado",
  allDone: "Todas las rondas están hechas.",
  allDoneThanks: "Todas las rondas están hechas. ¡Gracias por tu parte!",
  training: "Entrenando",
  round: (round) => `Ronda ${number(round)}`,
  noRound: "Ronda",
  step: (step, steps) => `Entrenando: paso ${number(step)} de ${number(steps)}`,
  loss: (loss) => `Pérdida ${figures.loss(loss)}.`,
  spokenStep: (round) => `Entrenando, ${round.toLowerCase()}`,
  goesOnWith: (backend) => `La ronda sigue con ${backend}.`,
  goesOnSliced: (backend) => `La ronda sigue con ${backend}, en trozos más pequeños.`,
  otherVersion: "El servidor habla otra versión de este protocolo. Recarga la página y vuelve a empezar.",
  screenStays: "La pantalla queda encendida mientras participas. Puedes hacer otras cosas en otras pestañas.",
  screenMayDarken:
    "Este navegador puede dejar que la pantalla se apague, y con ella el entrenamiento: enchufa el dispositivo y deja esta página a la vista.",
};
