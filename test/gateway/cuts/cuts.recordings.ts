// The same cuts, of what upstreams really sent too.
import './cut-answers.test.ts'
import './cut-sessions.test.ts'
