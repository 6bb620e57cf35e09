export const invite = {
  copied: "The address is copied.",
  copyYourself: "This browser does not let the page copy. The address is selected: copy it from there.",
};
