/** Writes what tools/list answers now as the accepted list; see tests/server/schema_test.ts. */
import { join } from "node:path";
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
