import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isUnread } from './unread.ts'

/**
 * Removes what no program reads from the packages that are installed: `node scripts/pack/prune.ts node_modules`. Half of
 * what the image would have.
 */
const [root = 'node_modules'] = process.argv.slice(2)
// Links are ours, in packages/: they are neither files nor folders here.
for (const { name, parentPath } of readdirSync(root, { recursive: true, withFileTypes: true }).filter(
  (entry) => entry.isFile(),
)) {
  const path = join(parentPath, name)
  const [, of, inside] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\/(.+)$/.exec(path) ?? []
  if (of !== undefined && inside !== undefined && isUnread(of, inside)) rmSync(path)
}
