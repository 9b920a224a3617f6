import { container } from "./declare";

container("bridge", {
  image: "ghcr.io/berriai/litellm:main-latest",
  ports: [{ internal: 8787, external: 8000, ip: "127.0.0.1" }],
});
