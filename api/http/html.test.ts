import { expect, test } from 'vitest'
import { errorPageHtml } from './error-pages'
import { html, joined, trusted } from './html'

test('the HTML writer escapes texts between tags and in attributes, and does not escape markup twice', () => {
  const evil = `<b a="'&`
  const escaped = '&#60;b a=&#34;&#39;&#38;'
  expect(String(html`<p title="${evil}">${evil}</p>`)).toBe(`<p title="${escaped}">${escaped}</p>`)
  expect(String(html`<ul>${[evil, html`<li>${evil}</li>`]}</ul>`)).toBe(
    `<ul>${escaped}<li>${escaped}</li></ul>`,
  )
  expect(String(joined([html`<i>a</i>`, 'b>'], ' & '))).toBe('<i>a</i> &#38; b&#62;')
  expect(String(html`${trusted('<br>')}${1}${0}${undefined}${false}${''}`)).toBe('<br>10')
})

test('pages of errors show names between backticks as code', () => {
  const body = String(errorPageHtml('invalid-input', 'https://x.example').body)
  expect(body).toContain('Read <code>detail</code>: it names')
  expect(body).not.toContain('`')
})
