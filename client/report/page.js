"use strict";
/* Tables sort by the buttons in their heads, the table of failures is filtered. Without scripts all
   of it is readable as it stands. */
const numberOf = (cell) => (cell.dataset.v === undefined ? NaN : Number(cell.dataset.v));

function compare(a, b) {
  const x = numberOf(a), y = numberOf(b);
  if (!Number.isNaN(x) || !Number.isNaN(y))
    return (Number.isNaN(x) ? -Infinity : x) - (Number.isNaN(y) ? -Infinity : y) || 0;
  return a.textContent.localeCompare(b.textContent, undefined, { numeric: true });
}

function sortBy(table, head) {
  const column = [...head.parentNode.children].indexOf(head);
  const descending = head.getAttribute("aria-sort") === "ascending";
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => compare(a.cells[column], b.cells[column]) * (descending ? -1 : 1));
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  table.tBodies[0].append(...rows);
}

for (const table of document.querySelectorAll("table.sortable"))
  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => sortBy(table, head));
  }

const failures = document.getElementById("failures");
if (failures) {
  const words = document.getElementById("words"), code = document.getElementById("code");
  const shown = document.getElementById("shown"), rows = [...failures.tBodies[0].rows];
  const filter = () => {
    const wanted = words.value.toLowerCase();
    let n = 0;
    for (const row of rows) {
      const codes = row.cells[2].textContent.split(", ");
      row.hidden = !row.textContent.toLowerCase().includes(wanted) || (code.value !== "" && !codes.includes(code.value));
      n += row.hidden ? 0 : 1;
    }
    shown.textContent = `${n} of ${rows.length} shown`;
  };
  words.addEventListener("input", filter);
  code.addEventListener("change", filter);
  words.closest(".tools").hidden = false;
  filter();
}
