// Writes llms.txt, the index of the documents for language models (llmstxt.org): each page with its title and what it is for. With
// `--check` it writes nothing and fails when the file is not current.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { bring, readText, root } from './generated.mjs';

/** The title, and the first sentence below it, without its links. */
function entryOf(path) {
  const [title = '', ...paragraphs] = readText(path)
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

bring('llms.txt', text);
