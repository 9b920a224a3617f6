import { writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { collectedMessages } from "./collected";

/** A sentence that is longer has to be read twice. Names in backticks count as a word each. */
const MOST_WORDS = 32;

/** Phrases of ours that readers stumbled over, though they are English. */
const STUMBLED = /\btold by\b|\bnobody knows\b|\bstands in the way\b|\bcomes to at\b/i;

const messages = collectedMessages();
const said = ({ file, line }: (typeof messages)[number], text: string) =>
  `${file}:${line}: ${text}`;

const sentences = messages.flatMap((message) =>
  message.text
    .replace(/`[^`]*`/g, "X")
    .split(/(?<=[.:;?!])\s+|\n/)
    .map((sentence) => ({ message, sentence })),
);

it("collects what every room says, whole and with its line, for somebody who reads all of it", () => {
  const of = (room: string) => messages.filter(({ file }) => file.startsWith(room)).length;
  for (const room of ["components/", "packages/harness/", "cli/", "policies/"])
    expect(of(room), room).toBeGreaterThan(100);
  const text = "Nothing is applied yet: run `serving up`.";
  expect(messages.filter((each) => each.text.includes(text))).toHaveLength(1);
  const { MESSAGES_FILE: file } = process.env;
  if (file) writeFileSync(file, messages.map((each) => `${said(each, each.text)}\n`).join(""));
});

it("no message has a sentence that is too long to be read once", () => {
  const long = sentences.filter(({ sentence }) => sentence.split(/\s+/).length > MOST_WORDS);
  expect(long.map(({ message, sentence }) => said(message, sentence))).toEqual([]);
});

it("no message has a phrase that readers stumbled over", () => {
  const found = messages.filter(({ text }) => STUMBLED.test(text));
  expect(found.map((each) => said(each, each.text))).toEqual([]);
});
