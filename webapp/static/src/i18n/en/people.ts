import { counted } from "../formatting";

export const people = {
  you: "You",
  browser: "Browser",
  peer: "Peer",
  doing: {
    loading: "getting ready",
    ready: "ready",
    training: "training",
    evaluating: "measuring",
    reported: "update is in",
    refused: "update refused",
  },
  updates: (count: number) => counted(count, "update"),
};
