/** The one style of our pages. The reader's system chooses between light and dark. */
export const style = `
:root { color-scheme: light dark;
  --back: #fff; --text: #1b1f23; --quiet: #59616a; --line: #d5dae0; --band: #f4f6f8; --link: #0550ae }
@media (prefers-color-scheme: dark) { :root {
  --back: #14171a; --text: #e8eaed; --quiet: #a3abb4; --line: #3a4149; --band: #1f2429; --link: #79b8ff } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1rem 1rem 4rem; max-width: 46rem; background: var(--back); color: var(--text);
  font: 1.0625rem/1.6 system-ui, sans-serif; overflow-wrap: anywhere }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; padding-bottom: .75rem; border-bottom: 1px solid var(--line) }
nav a:first-child { font-weight: 700 }
h1 { margin: 2rem 0 .5rem; font-size: 2rem; line-height: 1.2 }
h2 { margin: 2.25rem 0 .5rem; font-size: 1.25rem; line-height: 1.3 }
p, ul, dl { margin: .75rem 0 }
ul { padding-left: 1.25rem }
li { margin: .375rem 0 }
a { color: var(--link); text-underline-offset: .15em }
a:focus-visible { outline: 3px solid var(--link); outline-offset: 3px; border-radius: 2px }
code, pre { font: .875em/1.55 ui-monospace, "DejaVu Sans Mono", monospace }
pre { margin: .75rem 0; padding: .75rem 1rem; border: 1px solid var(--line); border-radius: 6px; background: var(--band);
  white-space: pre-wrap }
.all { user-select: all }
.quiet { color: var(--quiet) }
`
