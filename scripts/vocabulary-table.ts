/** A word that this project does not use, and the word of the field that it uses instead. */
export interface Entry {
  readonly instead: string
  /** Words of a camelCase name, lower case; several with spaces between them stand in that order. */
  readonly names?: readonly string[]
  /** Whole names, where a part of a name says too little. */
  readonly wholeNames?: RegExp
  /** What is looked for in comments, messages, test titles and pages. Matched without regard to case. */
  readonly prose?: RegExp
  /** Files of which the entry speaks, where the word has other senses elsewhere. */
  readonly within?: RegExp
}

/** What stays although an entry finds it. */
export interface Exception {
  readonly reason: string
  /** The whole name, or the line of prose, without the spaces around it. */
  readonly what: RegExp
  readonly within?: RegExp
}

export const TABLE: readonly Entry[] = [
  { instead: 'gap; gap marker', names: ['hole', 'holes', 'void', 'voids'], prose: /\b(?:holes?|voids?)\b/ },
  {
    instead: 'committed offset',
    names: ['mark', 'marks'],
    prose: /(?<!(?:question|order|quotation|exclamation|water)[ -])\bmarks?\b(?! (?:\w+ ){0,3}as\b)/,
  },
  { instead: 'retired producer', names: ['tombstone', 'tombstones'], prose: /\btombstones?\b/ },
  {
    instead: 'owns, manages',
    names: ['care', 'cares', 'cared'],
    prose: /\b(?:in|into|its|whose|their|gateway['’]s) care\b|\bcare[sd]? for\b|\btakes? care\b/,
  },
  {
    instead: 'liveness; runs',
    names: ['sign of life'],
    prose: /\bsigns? of life\b|\b(?:who|which|that|those|producer|owner|adopter|process|gateway) lives?\b/,
  },
  { instead: 'reported; usage update', names: ['told', 'tell', 'tells'], prose: /\btold\b/ },
  { instead: 'prefilter; reporting', names: ['telling'], prose: /\btelling\b/ },
  { instead: 'accumulator', names: ['gather', 'gatherer', 'gatherers'], prose: /\bgatherers?\b/ },
  { instead: 'chunk buffer', names: ['crumb', 'crumbs'], prose: /\bcrumbs?\b/ },
  { instead: 'overrides of a provider', names: ['quirk', 'quirks'], prose: /\bquirks?\b/ },
  { instead: 'billing rules', names: ['habit', 'habits'], prose: /\bhabits?\b/ },
  { instead: 'extracted', wholeNames: /^Kept$/ },
  {
    instead: 'usage snapshot',
    names: ['seen'],
    within: /^src\/(?:ledger|gateway\/(?:proxy|recording|websocket))\//,
  },
  {
    instead: 'snapshot; record; registry',
    names: ['note', 'notes', 'noted', 'noting', 'unnote'],
    prose: /(?<!release )\bnot(?:es?|ed|ing)\b/,
  },
  {
    instead: 'finalize',
    names: ['settle', 'settled'],
    within: /^src\/gateway\/(?:proxy|recording|websocket)\//,
  },
  {
    instead: 'prune, lose, drop',
    names: ['forget', 'forgets', 'forgotten', 'forgetting', 'forgettable'],
    prose: /\bforg[eo]t\w*/,
  },
  { instead: 'wake', names: ['kick', 'kicks'], prose: /\bkick\w*/ },
  { instead: 'attempts', names: ['fruitless'], prose: /\bfruitless\b/ },
  {
    instead: 'release, close',
    names: ['let go', 'halt', 'halted'],
    prose: /\b(?:lets?|letting) (?:(?:it|them|all|everything) )?go(?! on\b)\b|\blet go\b/,
  },
  {
    instead: 'drain',
    names: ['farewell', 'farewells', 'leave taking'],
    prose: /\bfarewells?\b|\bleave-taking\b|\btak(?:es?|ing) (?:its |their )?leave\b/,
  },
  { instead: 'drain; release', names: ['leave', 'leaving'], within: /^src\/(?:gateway|http|ledger)\// },
  { instead: 'where the servers are', names: ['whereabouts'], prose: /\bwhereabouts\b/ },
  { instead: 'URL without the key', names: ['keyless'], prose: /\bkeyless\b/ },
  { instead: 'quarantine', names: ['aside'], prose: /\bset(?:s|ting)? (?:\w+ )?aside\b/ },
  { instead: 'of another database; unknown', names: ['stranger', 'strangers'], prose: /\bstrangers?\b/ },
  {
    instead: 'regress; was restored to before',
    names: ['went back', 'goes back', 'go back', 'gone back', 'fell back'],
    prose: /\b(?:go|goes|going|gone|went) back\b|\bfell back\b|\bPostgres (?:may )?falls? back\b/,
  },
  { instead: 'stage', names: ['station', 'stations'], prose: /\bstations?\b/ },
  {
    instead: 'check, inspection',
    names: ['look', 'looks', 'looked', 'looking', 'examine'],
    prose:
      /\b(?:an?|one|each|every|last|next|first|second|two|quiet|own|their|its|a first) looks?\b(?!-)|\blooks? after\b/,
  },
  { instead: 'hint; repair', names: ['mend', 'mends'], prose: /\bmend(?:s|ed|ing)?\b/ },
  { instead: 'start the handshake', names: ['shake hands'], prose: /\bshak(?:es?|ing) hands\b/ },
  { instead: 'context', names: ['facts'], prose: /\bfacts of (?:an?|the) (?:call|endpoint|request)\b/ },
  { instead: 'options', wholeNames: /^[A-Z]\w*Parts$/ },
  {
    instead: 'query, request',
    names: ['question', 'questions'],
    prose: /(?<!\bin )\bquestions?\b(?! marks?\b)/,
  },
  {
    instead: 'faults; burst; settle; force',
    names: ['weather', 'calm', 'storm', 'storms', 'misfortune', 'hurry', 'hurried', 'haste'],
    prose: /\b(?:weather|calm|storms?|misfortunes?|hurr(?:y|ies|ied)|haste)\b/,
  },
  {
    instead: 'reported',
    prose: /\b(?:own|last|later|earlier|whose|(?:source|upstream|provider)['’]s) word\b/,
  },
  { instead: 'supervisor', names: ['machine', 'machines'] },
  {
    instead: 'the subject by its name: no client, a process, the caller',
    names: ['nobody', 'somebody'],
    prose: /\b(?:nobody|somebody|whoever|whomever)\b/,
  },
  { instead: 'again', names: ['anew'], prose: /\banew\b/ },
  {
    instead: 'is not a',
    prose: /(?<!\bthere )\b(?:is|are|was|were) no (?!(?:longer|more|less|\w+er)\b)\w/,
  },
]

export const EXCEPTIONS: readonly Exception[] = [
  { reason: 'a column, or a field on the wire', what: /^[a-z\d]+(?:_[a-z\d]+)+$/ },
  { reason: 'the keyword of TypeScript', what: /^void$/ },
  {
    reason: 'a field of the JSON of ledger status',
    what: /^mark$/,
    within: /ledger-document|openapi\/|operations\/ledger|ledger-status\.test|admin-usage\.test/,
  },
  {
    reason: 'a column',
    what: /^mark$|\bset mark = |\bp\.mark\b/,
    within: /^src\/store\/ledger\/|^bench\/chaos\/dead-gateway|ledger-database|worker-process|ledger-verify/,
  },
  { reason: 'a field of the log', what: /^mark$/, within: /^src\/ledger\/shipping\/shipper/ },
  {
    reason: 'what RFC 3629 and HTML call it',
    what: /^(?:BYTE_ORDER_MARK|isByteOrderMark|byteOrderMark|hasMark)$/,
  },
  { reason: 'what Node calls it', what: /^highWaterMark$/ },
  { reason: 'a state, or a field, of the JSON of doctor', what: /^(?:note|wrong|mend|mendOf)$/ },
  { reason: 'what readline calls it', what: /^question$/, within: /terminal/ },
  { reason: 'an alias in a query', what: /^told$/, within: /object-owners/ },
  { reason: 'a label under the hashes of golden files', what: /'note now'/, within: /call-world/ },
  { reason: 'sample text of a prompt or an answer', what: /Mrs\. O'Leary|knew its tides/ },
  { reason: 'to look something up', what: /^look-?up|lookUp$/i },
]
