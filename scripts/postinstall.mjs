// After `npm install`: Redis is unpacked while there is a network, so that a start needs none. Plain JavaScript, and it
// never fails: `npm start` and `npm test` themselves say what is missing, an older Node.js included.
import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const isDependency = fileURLToPath(import.meta.url).includes(`${sep}node_modules${sep}`)
const OLDEST = 24
if (!isDependency && Number(process.versions.node.split('.')[0]) >= OLDEST) {
  try {
    const { unpackRedisAhead } = await import('../src/standalone/servers/redis-program.ts')
    const line = await unpackRedisAhead()
    if (line !== null) console.log(line)
  } catch (error) {
    console.log(`Redis was not looked for, npm start will do it: ${error}`)
  }
}
