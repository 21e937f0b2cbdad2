/**
 * Makes an element. Texts become text and never markup: names come from clients and upstreams.
 *
 * @param {string} tag
 * @param {Record<string, unknown>} [properties] Attributes; `on…` are listeners; `false` and `null` are left out.
 * @param {...(Node | string | null)} children
 */
export function element(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children)
}

/** As `element`, for SVG. */
export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), properties, children)
}

function fill(made, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === false || value === null) continue
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value)
    else made.setAttribute(name, value === true ? '' : String(value))
  }
  made.append(...children.filter((child) => child !== null))
  return made
}

/** The element of the page with this id. */
export function byId(id) {
  return document.getElementById(id)
}

/**
 * Buttons of which one is chosen, as radio buttons are: arrow keys move the choice, one of them can be tabbed to.
 *
 * @param {HTMLElement} group
 * @param {{ value: string | number, content: (Node | string)[] }[]} options
 * @param {string | number} chosen
 * @param {(value: string | number) => void} choose
 */
export function choice(group, options, chosen, choose) {
  const hadFocus = group.contains(document.activeElement)
  const buttons = options.map(({ value, content }, index) =>
    element(
      'button',
      {
        type: 'button',
        role: 'radio',
        'aria-checked': value === chosen ? 'true' : 'false',
        tabindex: value === chosen ? 0 : -1,
        onclick: () => choose(value),
        onkeydown: (event) => {
          const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key]
          if (step === undefined) return
          event.preventDefault()
          choose(options[(index + step + options.length) % options.length].value)
        },
      },
      ...content,
    ),
  )
  group.replaceChildren(...buttons)
  if (hadFocus) buttons[options.findIndex(({ value }) => value === chosen)]?.focus()
}
