// Tables whose rows stay the same elements while their cells change, sorted by any column.

import { element, setChildren, setClass, setText } from "./dom.js";

export class Table {
  /**
   * Columns have a `title`, a `text(item)`, and maybe a `value(item)` to sort by, a `tone(item)`,
   * `isNumber`, and `draw(cell, item)` in place of the text. `key(item)` identifies rows.
   */
  constructor(parent, columns, key, select) {
    this.columns = columns;
    this.key = key;
    this.select = select;
    this.rows = new Map();
    this.items = [];
    this.selected = null;
    this.order = { column: 0, descending: false };
    this.heads = columns.map((column, index) => this.#head(column, index));
    this.body = element("tbody");
    const head = element("thead", {}, element("tr", {}, ...this.heads));
    this.table = element("table", {}, head, this.body);
    this.empty = element("p", { class: "empty" }, "nothing yet");
    parent.append(this.table, this.empty);
  }

  #head(column, index) {
    const sort = () => {
      const isSame = this.order.column === index;
      const descending = isSame ? !this.order.descending : Boolean(column.isNumber);
      this.order = { column: index, descending };
      this.show(this.items);
    };
    const button = element("button", { type: "button", onclick: sort }, column.title);
    return element("th", { class: column.isNumber ? "number" : "", scope: "col" }, button);
  }

  /** Shows these items. */
  show(items) {
    this.items = items;
    const { column, descending } = this.order;
    const value = this.columns[column].value ?? this.columns[column].text;
    const compare = (a, b) => {
      const [x, y] = [value(a) ?? -1, value(b) ?? -1];
      return x < y ? -1 : x > y ? 1 : 0;
    };
    const sorted = [...items].sort(descending ? (a, b) => compare(b, a) : compare);
    this.heads.forEach((head, index) => {
      const order = descending ? "descending" : "ascending";
      head.setAttribute("aria-sort", index === column ? order : "none");
    });
    const rows = sorted.map((item) => this.#row(item));
    const kept = new Set(items.map(this.key));
    for (const key of this.rows.keys()) {
      if (!kept.has(key)) {
        this.rows.delete(key);
      }
    }
    setChildren(this.body, rows);
    this.table.hidden = items.length === 0;
    this.empty.hidden = items.length > 0;
  }

  /** Marks the row of an item. */
  mark(key) {
    this.selected = key;
    for (const [other, row] of this.rows) {
      row.setAttribute("aria-selected", String(other === key));
    }
  }

  #row(item) {
    const key = this.key(item);
    let row = this.rows.get(key);
    if (!row) {
      row = element("tr", { tabindex: "0", "aria-selected": String(key === this.selected) });
      row.addEventListener("click", () => this.select(key));
      row.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          this.select(key);
        }
      });
      row.append(...this.columns.map(() => element("td")));
      this.rows.set(key, row);
    }
    this.columns.forEach((column, index) => {
      const cell = row.children[index];
      if (column.draw) {
        column.draw(cell, item);
        return;
      }
      const tone = column.tone?.(item) ?? "";
      setClass(cell, `${column.isNumber ? "number" : ""} ${tone}`.trim());
      const text = column.text(item);
      setText(cell, text);
      if (column.isName) {
        cell.title = text;
      }
    });
    return row;
  }
}
