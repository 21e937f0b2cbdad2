import cluster from 'node:cluster'

/**
 * Loaded first into a gateway of several processes: at SIGALRM the system starts no further ones, as where it is out of
 * processes, and at the next one it does again.
 */
const program = process.execPath

if (cluster.isPrimary)
  process.on('SIGALRM', () => {
    process.execPath = process.execPath === program ? '/nowhere' : program
  })
