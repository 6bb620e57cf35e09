export const account = {
  welcome: "Welcome",
  back: (name: string) => `Welcome back, ${name}`,
  silent: "The server does not answer. Look at your network, then try again.",
  copied: "It is copied.",
  noCopy: "This browser does not let the page copy. It is selected: copy it from there.",
  cut: "This address is cut short: an invitation goes on behind the #. Open it again as it was sent.",
  noPasskey: "There was no passkey, or it was not given. Try again, or sign in another way.",
  questionRemove: (name: string) =>
    `Remove ${name} with all keys, tokens, roles and drafts? Nobody can bring the account back.`,
  odd: (status: number) => `The server answers ${status}. Try again in a minute.`,
};
