import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/**
 * Loaded first into a program: writes the URLs of all modules that it loaded into the file LOADED_FILE when it ends. It
 * ends when its parent disconnects.
 */
const loaded: string[] = []
registerHooks({
  load(url, context, nextLoad) {
    loaded.push(url)
    return nextLoad(url, context)
  },
})
const { LOADED_FILE = '' } = process.env
process.on('exit', () => writeFileSync(LOADED_FILE, JSON.stringify(loaded)))
process.on('disconnect', () => process.exit())
process.channel?.unref() // a program that ends by itself does not wait for that
