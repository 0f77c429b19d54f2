// Theme and width: the same cookies that the forms set, without a new page.

const setCookie = (name, value) => {
  const path = root.dataset.root || "/";
  document.cookie = `${name}=${value}; Path=${path}; Max-Age=31536000; SameSite=Lax`;
};
const isDark = () =>
  root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.id === "cw-theme") {
    event.preventDefault();
    root.dataset.theme = isDark() ? "light" : "dark";
    setCookie("cogworker.theme", root.dataset.theme);
    document.dispatchEvent(new CustomEvent("cw:theme"));
  } else if (form.id === "cw-width") {
    event.preventDefault();
    const wide = document.getElementById("cw-main").classList.toggle("main--wide");
    document.querySelector(".top__in").classList.toggle("top__in--wide", wide);
    document.querySelector(".foot").classList.toggle("foot--wide", wide);
    const button = form.querySelector("button");
    button.setAttribute("aria-pressed", String(wide));
    button.title = wide ? "Use a fixed width" : "Use the full width";
    setText(button.querySelector("span"), wide ? "Fixed width" : "Full width");
    setCookie("cogworker.width", wide ? "wide" : "fixed");
    localStorage.setItem("cogworkerWideLayout", String(wide));
    dispatchEvent(new Event("resize"));
  }
});
// On a narrow screen tabs go on beyond its edge: the current one is shown. The page itself does not move.
for (const bar of document.querySelectorAll(".tabs, .states")) {
  const current = bar.querySelector("[aria-current]");
  if (current) bar.scrollLeft += current.getBoundingClientRect().right - bar.getBoundingClientRect().right + bar.clientWidth / 4;
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new CustomEvent("cw:theme")));
