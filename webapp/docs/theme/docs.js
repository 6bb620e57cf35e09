// The index of the search is large, so it is fetched when somebody wants to search. MkDocs' own script does the
// rest: it looks for `base_url` in the page, and for the field and the results by their ids.
const field = document.getElementById("mkdocs-search-query");
window.base_url = document.documentElement.dataset.base;

function fetchSearch() {
  const script = document.createElement("script");
  script.src = `${window.base_url}/search/main.js`;
  script.addEventListener("load", () => {
    // What was typed before the index was there.
    window.searchWorker.addEventListener("message", (event) => event.data.allowSearch && window.doSearch());
  });
  document.head.append(script);
}

field.form.addEventListener("submit", (event) => event.preventDefault());
// The header of other pages searches by an address: MkDocs' script takes `q` from it.
if (new URLSearchParams(location.search).get("q")) fetchSearch();
else field.addEventListener("focus", fetchSearch, { once: true });
if (window.matchMedia("(min-width: 64rem)").matches) document.querySelector(".docs-nav").open = true;
