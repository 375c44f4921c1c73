// The pages of the example's provider. They run no script.

const STYLE = `
:root { color-scheme: light dark; --back: #f4f6f8; --card: #fff; --text: #1b1f23; --quiet: #59616a; --line: #d5dae0; --mark: #0550ae }
@media (prefers-color-scheme: dark) { :root {
  --back: #14171a; --card: #1f2429; --text: #e8eaed; --quiet: #a3abb4; --line: #3a4149; --mark: #79b8ff } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 60rem; background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
h1 { margin: 0; font-size: 1.5rem }
h2 { margin: 1.5rem 0 .5rem; font-size: 1rem; color: var(--quiet) }
p { margin: .5rem 0 }
.note { padding: .5rem .75rem; border-left: 4px solid var(--mark); background: var(--card) }
.people { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr)); gap: .75rem }
button { display: flex; flex-direction: column; width: 100%; padding: .75rem 1rem; border: 1px solid var(--line); border-radius: 8px; background: var(--card);
  color: inherit; font: inherit; text-align: left; cursor: pointer }
button:hover { border-color: var(--mark) }
button:focus-visible, a:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px }
button.cancel { width: auto; margin-top: 1.5rem }
.name { font-weight: 600 }
.job, .may { font-size: .875rem; color: var(--quiet) }
.may { margin-top: .25rem; color: inherit }
a { color: var(--mark) }
`

const LEVELS = [
  ['Director', 'Director'],
  ['Manager', 'Managers'],
  ['Employee', 'Employees'],
]

export function signInPage(people) {
  const sections = LEVELS.map(([level, title]) => {
    const cards = people.filter((person) => person.level === level).map(cardOf)
    return `<h2>${title}</h2>\n<div class="people">\n${cards.join('\n')}\n</div>`
  })
  return pageOf(
    'Who do you want to be?',
    `<p class="note">A demonstration: there are no passwords, and these people are made up. In your company, its own sign-in page is here.</p>
<form method="post">
${sections.join('\n')}
<button class="cancel" name="account" value="">Back to Roster</button>
</form>`,
  )
}

/** A page with one message, and the way back. */
export function messagePage({ title, text, back }) {
  return pageOf(title, `<p>${escapeHtml(text)}</p>\n<p><a href="${escapeHtml(back)}">Back to Roster</a></p>`)
}

function cardOf({ account, name, job, may }) {
  return `<button name="account" value="${escapeHtml(account)}">
<bdi class="name">${escapeHtml(name)}</bdi>
<span class="job">${escapeHtml(job)}</span>
<span class="may">${escapeHtml(may)}</span>
</button>`
}

function pageOf(title, main) {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
<h1>${escapeHtml(title)}</h1>
${main}
</html>
`
}

function escapeHtml(text) {
  return String(text).replace(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`)
}
