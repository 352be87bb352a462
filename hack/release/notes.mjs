/** The part of the changelog about a version. Before it is tagged, its part is still called Unreleased. Throws when the part is missing. */
export function notesOf(changelog, version, isTagged) {
  const parts = changelog.split(/^## /m).slice(1);
  const heading = new RegExp(`^${version.replaceAll('.', '\\.')} \\(\\d{4}-\\d{2}-\\d{2}\\)\\n`);
  const part =
    parts.find((each) => heading.test(each)) ??
    (isTagged ? undefined : parts.find((each) => each.startsWith('Unreleased')));
  if (part === undefined) throw new Error(`CHANGELOG.md must have a part "## ${version} (YYYY-MM-DD)"`);
  const text = part.slice(part.indexOf('\n')).trim();
  if (text === '') throw new Error(`CHANGELOG.md says nothing about ${version}`);
  return `${text}\n`;
}
