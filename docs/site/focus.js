// Wide tables scroll; the theme leaves them out of the order of the keyboard.
addEventListener('load', () => {
  for (const table of document.querySelectorAll('.md-typeset__scrollwrap')) table.setAttribute('tabindex', '0');
});
