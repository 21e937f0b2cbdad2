import { takeDataFolder } from '../../src/standalone/data-folder/data-folder.ts'

/** Takes the folder named on the command line, tells its parent what it got, and keeps it. */
const folder = takeDataFolder(process.argv[2] ?? '')
process.send?.('heldBy' in folder ? folder : 'taken')
// It has to stay reachable: collected as garbage, it would be released.
setInterval(() => folder, 60_000)
