/** Writes the files that are made from the code: the accepted tool list and the schema of the preset file. */
import { join } from "node:path";
import { presetsJsonSchema } from "../src/workspace/presets.ts";
import { ROOT } from "../tests/support/paths.ts";
import { makeRepo, withTemp } from "../tests/support/repo.ts";
import { withServer } from "../tests/support/server.ts";

await withTemp(async (dir) => {
  makeRepo(join(dir, "repo"));
  await withServer({ cwd: join(dir, "repo") }, async (server) => {
    const { result } = await server.request("tools/list");
    const file = join(ROOT, "tests/server/tools_list.json");
    await Deno.writeTextFile(file, `${JSON.stringify(result.tools, null, 2)}\n`);
  });
});

const schema = join(ROOT, "docs", "git-mcp-presets.schema.json");
await Deno.writeTextFile(schema, `${JSON.stringify(presetsJsonSchema(), null, 2)}\n`);
