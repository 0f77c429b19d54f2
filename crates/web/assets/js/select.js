// Ticking rows: all of a page at once, and how many there are.

const ticks = () => [...document.querySelectorAll("#cw-main tbody input[type=checkbox][name=entry]")];
const showTicked = () => {
  const all = ticks();
  const ticked = all.filter((box) => box.checked).length;
  for (const box of all) box.closest("tr").classList.toggle("sel", box.checked);
  const label = document.querySelector("[data-cw-selected]");
  if (label) setText(label, `${ticked} selected`);
  const head = document.querySelector("[data-cw-all]");
  if (!head) return;
  head.hidden = all.length === 0;
  const box = head.querySelector("input");
  box.checked = all.length > 0 && ticked === all.length;
  box.indeterminate = ticked > 0 && ticked < all.length;
};
document.addEventListener("change", (event) => {
  if (event.target.closest("[data-cw-all]")) for (const box of ticks()) box.checked = event.target.checked;
  if (event.target.matches("#cw-main input[type=checkbox]")) showTicked();
});
document.addEventListener("reset", () => setTimeout(showTicked));
document.addEventListener("cw:updated", showTicked);
showTicked();
