// Filters the rows of tables. There is no less-than sign and no ampersand in here: the page is well-formed XML.
"use strict";
for (const form of document.querySelectorAll("form.filters")) {
  const table = document.getElementById(form.dataset.table);
  const rows = Array.from(table.querySelectorAll("tbody tr"));
  const search = form.querySelector("input");
  const selects = Array.from(form.querySelectorAll("select"));
  const shown = form.querySelector("output");
  let known = null;
  // What a row is filtered by is read when the first filter is set, so that it does not delay the opening.
  const read = (row) => ({ text: row.textContent.toLowerCase(), values: row.dataset.values.split(" ") });
  const filter = () => {
    known = known || rows.map(read);
    const text = search.value.trim().toLowerCase();
    const chosen = selects.filter((select) => select.value !== "");
    const fits = (row) => chosen.every((select) => row.values[select.dataset.place] === select.value);
    let count = 0;
    rows.forEach((row, place) => {
      const is_shown = fits(known[place]) ? known[place].text.includes(text) : false;
      row.hidden = !is_shown;
      count += is_shown ? 1 : 0;
    });
    for (const group of table.tBodies) {
      group.hidden = Array.from(group.rows).every((row) => row.hidden);
    }
    shown.textContent = count + " of " + rows.length + " rows";
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
}
