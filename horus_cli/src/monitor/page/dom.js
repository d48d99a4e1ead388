// Elements. All text of the robot becomes text nodes or attributes, never HTML: the page's policy
// (trusted types) refuses anything else.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) {
      node.addEventListener(name.slice(2), value);
    } else if (value !== null && value !== false) {
      node.setAttribute(name, value === true ? "" : value);
    }
  }
  node.append(...children);
  return node;
}

/** Returns an HTML element. Children are elements or texts. */
export function element(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** Returns an SVG element. */
export function shape(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/** Returns the element of the page with this id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Sets the text of an element, if it is another one. */
export function setText(node, text) {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}

/** Sets the class of an element, if it is another one. */
export function setClass(node, name) {
  if (node.getAttribute("class") !== name) {
    node.setAttribute("class", name);
  }
}

/** Makes `parent` have exactly these children, in this order. Moves only what is elsewhere. */
export function setChildren(parent, children) {
  children.forEach((child, index) => {
    if (parent.childNodes[index] !== child) {
      parent.insertBefore(child, parent.childNodes[index] ?? null);
    }
  });
  while (parent.childNodes.length > children.length) {
    parent.lastChild.remove();
  }
}
