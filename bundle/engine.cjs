// `npm run preview`, `up` and `down`.
require("./run.cjs").run("engine");
