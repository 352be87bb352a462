// Writes the pictures of docs/console.md: starts an instance, sends traffic, and looks at the console in Chromium.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const images = join(root, 'docs/images');
const executablePath = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((path) => existsSync(path));
if (executablePath === undefined) throw new Error('no browser: install chromium');

const directory = mkdtempSync(join(tmpdir(), 'paymaster-screenshots-'));
const env = { ...process.env, PAYMASTER_DATA_DIR: directory, PORT: '18099', BUNDLER: '0', MINUTES: '4' };
const server = spawn(process.execPath, ['--no-warnings', join(root, 'dist/bin/standalone.js')], {
  env,
  cwd: root,
});
try {
  const link = await new Promise((resolve, reject) => {
    let output = '';
    server.once('exit', () => reject(new Error(output)));
    server.stdout.on('data', (chunk) => {
      output += chunk;
      if (output.includes('Ctrl-C stops everything')) resolve(/http\S+#code=[\w-]+/.exec(output)[0]);
    });
  });
  execFileSync(process.execPath, ['--no-warnings', join(root, 'hack/demo/traffic.mjs')], {
    env,
    cwd: root,
    stdio: 'inherit',
  });
  await shoot(link);
} finally {
  const ended = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGINT');
  await ended;
  rmSync(directory, { recursive: true, force: true });
}

async function shoot(link) {
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run'],
  });
  const page = await browser.newPage({ viewport: { width: 1280, height: 850 }, colorScheme: 'light' });
  mkdirSync(images, { recursive: true });
  const save = (name) => page.screenshot({ path: join(images, `console-${name}.png`) });

  await page.goto(link);
  await page.getByLabel('Range').selectOption('15m');
  await page.getByText('Method not whitelisted').first().waitFor();
  await save('overview');

  await page.goto(new URL('#/activity?verdict=sponsored', link).href);
  await page.getByRole('row', { name: 'mined' }).first().getByRole('link').first().click();
  await page.getByText('succeeded').waitFor();
  await save('decision');

  await page.goto(new URL('#/activity?verdict=refused', link).href);
  await page.getByRole('row', { name: 'counter.burn' }).first().getByRole('link').first().click();
  await page.getByText('does not pay for counter.burn').waitFor();
  await save('refusal');

  await page.goto(new URL('#/paymaster/shop', link).href);
  await page.getByText('at most 100,000 operations').waitFor();
  await save('paymaster');
  await browser.close();
  console.log(`wrote ${images}`);
}
