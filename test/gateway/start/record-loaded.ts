import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/**
 * Loaded first into a program: writes the URLs of all modules that it loaded into the file LOADED_FILE, and ends, when
 * its parent disconnects.
 */
const loaded: string[] = []
registerHooks({
  load(url, context, nextLoad) {
    loaded.push(url)
    return nextLoad(url, context)
  },
})
const { LOADED_FILE = '' } = process.env
process.on('disconnect', () => {
  writeFileSync(LOADED_FILE, JSON.stringify(loaded))
  process.exit()
})
