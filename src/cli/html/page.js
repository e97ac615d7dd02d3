// Filters the rows of tables. There is no less-than sign and no ampersand in here: the page is well-formed XML.
"use strict";
for (const form of document.querySelectorAll("form.filters")) {
  const table = document.getElementById(form.dataset.table);
  const groups = Array.from(table.tBodies, (body) => ({ body: body, rows: Array.from(body.rows) }));
  const rows = groups.flatMap((group) => group.rows);
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
    let place = 0;
    for (const group of groups) {
      const fitting = group.rows.map(() => {
        const row = known[place];
        place += 1;
        return fits(row) ? row.text.includes(text) : false;
      });
      const is_shown = fitting.includes(true);
      if (group.body.hidden === is_shown) group.body.hidden = !is_shown;
      // The rows of a hidden group stay as they are: a change of each of them takes time.
      if (is_shown) {
        fitting.forEach((fit, index) => {
          if (group.rows[index].hidden === fit) group.rows[index].hidden = !fit;
          count += fit ? 1 : 0;
        });
      }
    }
    shown.textContent = count + " of " + rows.length + " rows";
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
}
