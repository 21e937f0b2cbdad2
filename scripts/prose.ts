/** A page without its code blocks. */
export function proseOf(page: string): string {
  return page.replace(/^ *```[\s\S]*?^ *```$/gm, '')
}

/** Texts whose last sentence ends with them: paragraphs, items of lists, cells of tables. */
function blocksOf(text: string): string[] {
  const lines = text.replace(/^<!-- figures:[\s\S]*?^<!-- \/figures -->$/gm, '').split('\n')
  const blocks: string[] = ['']
  for (const line of lines) {
    const item = /^\s*(?:>\s*)?(?:[-*]|1?\d\.)\s+(.*)$/.exec(line)
    if (/^(?:\s*|#+ .*)$/.test(line)) blocks.push('')
    else if (/^\s*\|/.test(line)) blocks.push(...line.split(/(?<!\\)\|/), '')
    else if (item !== null) blocks.push(item[1] ?? '')
    else blocks.push(`${blocks.pop()} ${line.replace(/^\s*>? */, '')}`)
  }
  return blocks
}

/** Code, and names of it with commas between, are one word; so is the text of a link with its address. */
function withoutCode(block: string): string {
  return block.replace(/`[^`]+`(?:, (?:and |or )?`[^`]+`)*/g, '`code`').replace(/\]\([^)]*\)/g, ']')
}

/** Sentences of Markdown, without its code blocks; what ends a paragraph, an item or a cell ends a sentence. */
export function sentencesIn(prose: string): string[] {
  return blocksOf(prose)
    .flatMap((block) =>
      withoutCode(block).split(/(?<=[.!?]["”’)*]*)\s+(?=[\p{Lu}\d"“([`*]|npm\b|xAI\b|esbuild\b)/u),
    )
    .filter((sentence) => wordsIn(sentence) > 0)
}

export function wordsIn(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}`]/u.test(word)).length
}

/** The anchor that a heading gets where repositories show Markdown, and on the site. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
}
