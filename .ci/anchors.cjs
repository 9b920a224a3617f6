// Tells `remark-validate-links`, which compares in lower case, of the addresses in a page's own HTML: <a id="..."></a>.
const ADDRESS = /^<a id="([^"]+)">/;

/** A plugin of remark. */
module.exports = function anchors() {
  const visit = (node) => {
    const id = node.type === "html" ? ADDRESS.exec(node.value)?.[1].toLowerCase() : undefined;
    if (id !== undefined) node.data = { ...node.data, id };
    for (const child of node.children ?? []) visit(child);
  };
  return visit;
};
