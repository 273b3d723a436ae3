/** Makes `dist/orchestragent-mcp.js`: the whole program as one minified file for `deno run`. */
import { join } from "node:path";
import { ROOT } from "../tests/support/paths.ts";

const output = join(ROOT, "dist", "orchestragent-mcp.js");
await Deno.mkdir(join(ROOT, "dist"), { recursive: true });
// The SDK's "browser" build leaves out node:process and a JSON Schema validator, which a server with its own
// transport never uses and which cost a sixth of the time to start.
const { code, stderr } = await new Deno.Command(Deno.execPath(), {
  args: [
    "bundle",
    "--minify",
    "--quiet",
    "--conditions",
    "browser",
    "--output",
    output,
    join(ROOT, "src", "main.ts"),
  ],
  cwd: ROOT,
}).output();
if (code !== 0) {
  await Deno.stderr.write(stderr);
  Deno.exit(code);
}
// deno-lint-ignore no-console -- a script's result
console.log(`${output} (${((await Deno.stat(output)).size / 1024).toFixed(0)} KiB)`);
