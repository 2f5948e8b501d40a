// Reads diagrams with Mermaid's own parser: `node mermaid.mjs FILE...`, where node finds the package `mermaid`.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const find = createRequire(process.env.SHOAL_NODE_MODULES + "/");
const mermaid = (await import(pathToFileURL(find.resolve("mermaid")))).default;
let failed = 0;
for (const file of process.argv.slice(2)) {
  try {
    const { diagramType } = await mermaid.parse(readFileSync(file, "utf8"));
    if (diagramType !== "sequence") throw new Error(`it is a ${diagramType}`);
  } catch (error) {
    failed += 1;
    console.log(`${file}: ${error.message}`);
  }
}
process.exit(failed ? 1 : 0);
