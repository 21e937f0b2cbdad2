import { startUpstream } from '../../support/upstream.ts'

/** An upstream in a process of its own: it says where it is, and to each message how many requests it has had. */
const upstream = await startUpstream()
process.send?.(upstream.url)
process.on('message', () => process.send?.(upstream.requests.length))
process.on('disconnect', () => process.exit())
