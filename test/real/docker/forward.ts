/** Hands connections to a port of its network on to a socket: `node -e FORWARD PORT SOCKET`. */
export const FORWARD = `
const { connect, createServer } = require("node:net");
const [port, socket] = process.argv.slice(1);
createServer((from) => {
  const to = connect(socket);
  for (const end of [from, to]) end.on("error", () => { from.destroy(); to.destroy(); });
  from.pipe(to).pipe(from);
}).listen(Number(port), "127.0.0.1", () => console.log("listening"));
`;
