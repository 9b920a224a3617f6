import { createServer } from "node:http";

/**
 * Stands for the llama-server that a release of Ollama brings along: `llamaServer.ts CALL --port
 * PORT ...`. It loads no model, and its answer is that call between tags, in pieces.
 */
const [, , call = "", ...words] = process.argv;
const port = Number(words[words.indexOf("--port") + 1]);
const pieces = ["<tool_call>", call.slice(0, 20), call.slice(20), "</tool_call>"];

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;

createServer((request, response) => {
  let text = "";
  request.on("data", (chunk: Buffer) => {
    text += chunk;
  });
  request.on("end", () => {
    const json = (body: object) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (request.url === "/tokenize") return json({ tokens: text.split(" ").map((_, at) => at) });
    if (request.url !== "/completion") return json({ status: "ok" });
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const content of pieces) response.write(event({ content, stop: false }));
    const timings = { prompt_n: 20, predicted_n: 12 };
    return response.end(event({ content: "", stop: true, stop_type: "eos", timings }));
  });
}).listen(port, "127.0.0.1");
