/**
 * Which documents hold which words: a full-text table without content, and the list of all words, which is what
 * makes parts of words findable. A document holds a part of a word exactly when it holds a word with that part.
 */
import { isWordUnit } from "../match/text.ts";
import { packNumbers, packWords, unpackNumbers, unpackWords } from "./packing.ts";
import type { IndexStore } from "./store.ts";
import { SeenWords, SEVERAL } from "./seen_words.ts";
import { type Occurrence, Vocabulary } from "./vocabulary.ts";

/** What of a store a text index needs. */
type Tables = Pick<IndexStore, "run" | "row" | "rows">;

/** Terms of one full-text query: each costs a few microseconds and has to be looked up in the table. */
const TERMS_A_QUERY = 1_000;
/** FTS5 keeps 32,768 bytes of a term: longer ones may be taken for each other. A unit takes three bytes at most. */
export const LONGEST_TERM = 10_000;
/** So many are looked up one by one, at ten microseconds each. */
const FEW_WORDS = 5_000;

/** A full-text table and its words. */
export class TextIndex {
  readonly #tables: Tables;
  readonly #name: string;
  /** Words of ASCII alone take half the memory and less time. */
  #ascii = new Vocabulary();
  #other = new Vocabulary();
  #readRows = 0;
  #seen = new SeenWords();
  #seenRows = 0;
  #waiting: { id: number; lower: string }[] = [];
  #fresh: string[] = [];
  /** Words that had one document before, and have several now. */
  #again: string[] = [];
  /** The same of all that was read. */
  #several = new SeenWords();

  constructor(tables: Tables, name: string) {
    this.#tables = tables;
    this.#name = name;
  }

  /** The statements that make the tables. See https://www.sqlite.org/fts5.html, Contentless Tables. */
  static schema(name: string): string {
    return `
      CREATE VIRTUAL TABLE ${name}_words USING fts5(text, content='', tokenize="ascii tokenchars '_'");
      CREATE VIRTUAL TABLE ${name}_terms USING fts5vocab(${name}_words, 'row');
      CREATE TABLE ${name}_vocabulary (
        id INTEGER PRIMARY KEY, words TEXT NOT NULL, base INTEGER NOT NULL, documents BLOB NOT NULL,
          again TEXT NOT NULL
      );
    `;
  }

  /** Adds a document; it is written by {@linkcode flush}. */
  add(id: number, lower: string): void {
    const { fresh, again } = this.#seen.addAll(lower, id);
    for (const word of fresh) this.#fresh.push(word);
    for (const word of again) this.#again.push(word);
    this.#waiting.push({ id, lower });
  }

  /** Writes what was added, and the words that no document had before, in the transaction of the caller. */
  flush(): void {
    const run = this.#tables.run.bind(this.#tables);
    const added = this.#newWords();
    for (const { id, lower } of this.#waiting) {
      run(`INSERT INTO ${this.#name}_words (rowid, text) VALUES (?, ?)`, id, lower);
    }
    if (added.length + this.#again.length > 0) {
      added.sort();
      // Rows of one transaction are near to each other: counted from before the first of them they are small.
      const base = Math.max(0, Math.min(...this.#waiting.map(({ id }) => id)) - 1);
      const documents = added.map((word) => {
        const document = this.#seen.documentOf(word);
        return document > base ? document - base : SEVERAL;
      });
      const { id } = run(
        `INSERT INTO ${this.#name}_vocabulary (words, base, documents, again) VALUES (?, ?, ?, ?)`,
        packWords(added),
        base,
        packNumbers(documents),
        packWords(this.#again.sort()),
      );
      // What stands between was read already.
      if (id === this.#seenRows + 1) this.#seenRows = id;
    }
    this.#fresh = [];
    this.#again = [];
    this.#waiting = [];
  }

  /** Forgets what was added, when the transaction did not come to its end. */
  discard(): void {
    this.#waiting = [];
    this.#fresh = [];
    this.#again = [];
    this.#seen.clear();
    this.#seenRows = 0;
  }

  /** The words with a text in them. */
  wordsWith(part: string): string[] {
    return [...new Set(this.#occurrences(part).map(({ word }) => word))];
  }

  /** Every word. */
  *words(): Generator<string> {
    this.#read();
    yield* this.#ascii.all();
    yield* this.#other.all();
  }

  /** Calls back with every document that holds one of the words; documents may come twice. */
  documentsWith(words: readonly string[], take: (id: number) => void): void {
    this.#documentsWithTerms(words.map(quoted), take);
  }

  /**
   * Calls back with every document that has a word with a text in it, unless more than `most` words have it; with
   * `more` there may be others among them.
   * Most words stand in one document only, which is known without asking. What begins as another word does up to
   * the end of the text has it too, so that families of words are asked for at once.
   */
  documentsWithPart(
    part: string,
    most: number,
    take: (id: number) => void,
  ): "exact" | "more" | "too many" {
    const families = new Map<string, string[]>();
    const occurrences = this.#occurrences(part);
    if (occurrences.length > most) return "too many";
    let isCut = false;
    for (const { word, document } of occurrences) {
      if (document !== SEVERAL && !this.#several.has(word)) {
        take(document);
        continue;
      }
      const prefix = word.slice(0, word.indexOf(part) + part.length);
      isCut ||= word.length > LONGEST_TERM;
      const family = families.get(prefix);
      if (family) family.push(word);
      else families.set(prefix, [word]);
    }
    const terms = [...families].map(([prefix, family]) =>
      family.length > 1 ? `${quoted(prefix)} *` : quoted(family[0])
    );
    this.#documentsWithTerms(terms, take);
    return isCut ? "more" : "exact";
  }

  #occurrences(part: string): Occurrence[] {
    this.#read();
    return [...this.#ascii.with(part), ...this.#other.with(part)];
  }

  #documentsWithTerms(terms: readonly string[], take: (id: number) => void): void {
    for (let at = 0; at < terms.length; at += TERMS_A_QUERY) {
      this.documentsMatching(terms.slice(at, at + TERMS_A_QUERY).join(" OR "), take);
    }
  }

  /** Calls back with every document that matches an FTS5 expression. */
  documentsMatching(expression: string, take: (id: number) => void): void {
    const sql = `SELECT group_concat(rowid) FROM ${this.#name}_words WHERE ${this.#name}_words MATCH ?`;
    const list = this.#tables.row(sql, expression)?.[0] as string | null;
    if (list === null || list === undefined) return;
    let id = 0;
    for (let i = 0; i < list.length; i++) {
      const digit = list.charCodeAt(i) - 48;
      if (digit >= 0) id = id * 10 + digit;
      else {
        take(id);
        id = 0;
      }
    }
    take(id);
  }

  /** The documents that match an expression best, with bm25: the higher the better. */
  ranked(expression: string, limit: number): Map<number, number> {
    const sql = `SELECT rowid, rank FROM ${this.#name}_words WHERE ${this.#name}_words MATCH ? LIMIT ?`;
    return new Map(
      this.#tables.rows(sql, expression, limit).map(([id, rank]) => [Number(id), -Number(rank)]),
    );
  }

  optimize(): void {
    this.#tables.run(`INSERT INTO ${this.#name}_words (${this.#name}_words) VALUES ('optimize')`);
  }

  /** Those of the fresh words that are not in the list; the others have several documents now. */
  #newWords(): string[] {
    const row = this.#tables.row.bind(this.#tables);
    const known = (word: string) => this.#again.push(word);
    if (this.#fresh.length <= FEW_WORDS) {
      const sql = `SELECT 1 FROM ${this.#name}_terms WHERE term = ?`;
      return this.#fresh.filter((word) => row(sql, word) === undefined || !known(word));
    }
    const last = Number(row(`SELECT max(id) FROM ${this.#name}_vocabulary`)?.[0] ?? 0);
    if (last === this.#seenRows) return this.#fresh;
    // Others have written, or this process has just begun.
    const fresh = new Set(this.#fresh);
    for (const { words, documents, again } of this.#rowsAfter(this.#seenRows)) {
      words.forEach((word, nth) => {
        if (!this.#seen.add(word, documents[nth]) && fresh.delete(word)) known(word);
      });
      // A document that there is not makes it several.
      for (const word of again) this.#seen.add(word, -1);
    }
    this.#seenRows = last;
    return [...fresh];
  }

  /** Reads the words that were added since the last time. */
  #read(): void {
    const last = this.#tables.row(`SELECT max(id) FROM ${this.#name}_vocabulary`)?.[0];
    if (this.#readRows === Number(last ?? 0)) return;
    for (const { id, words, documents, again } of this.#rowsAfter(this.#readRows)) {
      this.#readRows = id;
      const ascii = words.map(isAscii);
      for (const [vocabulary, kind] of [[this.#ascii, true], [this.#other, false]] as const) {
        vocabulary.add(
          words.filter((_, nth) => ascii[nth] === kind),
          documents.filter((_, nth) => ascii[nth] === kind),
        );
      }
      for (const word of again) this.#several.add(word, SEVERAL);
    }
  }

  *#rowsAfter(id: number): Generator<Row> {
    const sql =
      `SELECT id, words, base, documents, again FROM ${this.#name}_vocabulary WHERE id > ? ORDER BY id`;
    for (const [row, words, base, documents, again] of this.#tables.rows(sql, id)) {
      yield {
        id: Number(row),
        words: unpackWords(words as string),
        documents: unpackNumbers(documents as Uint8Array)
          .map((document) => document === SEVERAL ? SEVERAL : document + Number(base)),
        again: unpackWords(again as string),
      };
    }
  }
}

/** What one transaction has added to the words. */
interface Row {
  id: number;
  words: string[];
  /** For each word the only document with it, or {@linkcode SEVERAL}. */
  documents: Int32Array;
  again: string[];
}

/** An FTS5 string. */
export function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

function isAscii(word: string): boolean {
  for (let i = 0; i < word.length; i++) if (word.charCodeAt(i) >= 128) return false;
  return true;
}

/** Whether a text is a part of a word, and nothing else. */
export function isWordPart(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (!isWordUnit(text.charCodeAt(i))) return false;
  return text !== "";
}
