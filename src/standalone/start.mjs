// `npm start`. Plain JavaScript, so that a Node.js too old for the rest can still say so.
const OLDEST = 24
if (Number(process.versions.node.split('.')[0]) < OLDEST) {
  console.error(`tallygate runs on Node.js ${OLDEST}, and this is ${process.version}.

npm install brings that version along as the package "node", but the package's install script has not run here:
npm is configured to block install scripts (npm config get ignore-scripts), or does not allow them. Repair it with

  npm rebuild node --ignore-scripts=false

or install Node.js ${OLDEST} yourself, and start again.`)
  process.exit(1)
}
const { keepCompiledModules } = await import('../lib/compile-cache.ts')
keepCompiledModules()
await import('./main.ts')
