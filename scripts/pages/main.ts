import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildPages, PAGES_FOLDER } from './build.ts'

// `npm run pages`: writes the bundles of the pages again.
for (const [name, content] of await buildPages()) writeFileSync(join(PAGES_FOLDER, name), content)
