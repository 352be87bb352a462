// Writes llms.txt, the index of the documents for language models (llmstxt.org): each page with its title and what it is for. With
// `--check` it writes nothing and fails when the file is not current.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const read = (path) => readFileSync(join(root, path), 'utf8');

/** The title, and the first sentence below it, without its links. */
function entryOf(path) {
  const [title = '', ...paragraphs] = read(path)
    .split(/\n{2,}/)
    .filter((paragraph) => !paragraph.startsWith('<!--'));
  const paragraph = paragraphs.find((text) => /^\p{L}/u.test(text))?.replaceAll('\n', ' ') ?? '';
  const [sentence = ''] = paragraph.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1').split(/(?<=\.)(?= |$)/);
  return { title: title.replace(/^# /, ''), sentence };
}

const line = (path) => {
  const { title, sentence } = entryOf(path);
  return `- [${title}](${path}): ${sentence}`;
};
const pages = readdirSync(join(root, 'docs'))
  .filter((name) => name.endsWith('.md') && name !== 'README.md')
  .map((name) => `docs/${name}`);
const { title, sentence } = entryOf('README.md');
const text = [
  `# ${title}`,
  '',
  `> ${sentence}`,
  '',
  '## Start',
  '',
  ...['README.md', 'ARCHITECTURE.md', 'SECURITY.md', 'charts/README.md', 'CONTRIBUTING.md', 'AGENTS.md'].map(
    line,
  ),
  '',
  '## Documents',
  '',
  ...pages.map(line),
  '',
].join('\n');

const isCurrent = read('llms.txt') === text;
if (process.argv.includes('--check')) {
  if (!isCurrent) {
    console.error('llms.txt is not current: run "make generate"');
    process.exit(1);
  }
} else if (!isCurrent) writeFileSync(join(root, 'llms.txt'), text);
