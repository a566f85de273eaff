for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const number = text => {
    const plain = text.replace(/\u202f/g, "");
    return plain === "\u2013" ? -1 : Number(plain);
  };
  heads.forEach((head, column) => head.firstChild.addEventListener("click", () => {
    const turn = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", turn > 0 ? "ascending" : "descending");
    const body = table.tBodies[0];
    const cell = row => row.cells[column].textContent;
    const order = (one, other) => head.classList.contains("name")
      ? cell(one).localeCompare(cell(other)) : number(cell(one)) - number(cell(other));
    body.append(...[...body.rows].sort((one, other) => turn * order(one, other)));
  }));
}
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const fold of opened) fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of opened) fold.open = false;
});
