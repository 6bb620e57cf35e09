/** The step that describes a task. */
export const say = {
  noText: "Nothing yet. Say what the model learns, what it is for, and what people should know.",
};
