// What holds of made answers, of what upstreams really sent too.
import './answer-id.test.ts'
import './fuzz.test.ts'
