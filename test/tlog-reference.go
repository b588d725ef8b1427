// Verifies a log with the reference implementation, golang.org/x/mod/sumdb: note, and tlog. Reads a folder
// with its files and cases.json, or what a service serves, and prints what it computed as JSON
// (tlog-reference.system.test.ts):
//
//	reference FOLDER
//	reference URL VERIFIER-KEY LEAF...
package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type Case struct {
	VerifierKey string   `json:"verifierKey"`
	SignerKey   string   `json:"signerKey"`
	Witness     Witness  `json:"witness"`
	Entries     []string `json:"entries"`
	Proofs      []Proof  `json:"proofs"`
	Trees       []Proof  `json:"trees"`
}

// Proof of an entry (index), or of an older tree (size, root), in the tree of the checkpoint.
type Proof struct {
	Index  int64    `json:"index"`
	Size   int64    `json:"size"`
	Root   string   `json:"root"`
	Hashes []string `json:"hashes"`
}

// Witness is a verifier of cosignatures (c2sp.org/tlog-cosignature), which sumdb/note does not have.
type Witness struct {
	KeyName string `json:"name"`
	ID      uint32 `json:"id"`
	Key     string `json:"key"`
}

func (w Witness) Name() string    { return w.KeyName }
func (w Witness) KeyHash() uint32 { return w.ID }
func (w Witness) Verify(msg, sig []byte) bool {
	if len(sig) != 72 {
		return false
	}
	text := fmt.Sprintf("cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(sig), msg)
	return ed25519.Verify(bytes(w.Key), []byte(text), sig[8:])
}

// read returns the content of a file of the log.
type read func(path string) ([]byte, error)

func readFrom(folder string) read {
	return func(path string) ([]byte, error) { return os.ReadFile(filepath.Join(folder, path)) }
}

func readAt(url string) read {
	return func(path string) ([]byte, error) {
		response, err := http.Get(url + "/" + path)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		if err == nil && response.StatusCode != 200 {
			err = fmt.Errorf("%s: %s", path, response.Status)
		}
		return content, err
	}
}

// tiles of 256 hashes, without the height in their path.
type tiles struct{ read }

func pathOf(tile tlog.Tile) string {
	path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
	return strings.Replace(path, "tile/data/", "tile/entries/", 1)
}

func (t tiles) Height() int                     { return 8 }
func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}
func (t tiles) ReadTiles(wanted []tlog.Tile) (found [][]byte, err error) {
	for _, tile := range wanted {
		content, err := t.read(pathOf(tile))
		if err != nil {
			return nil, err
		}
		found = append(found, content)
	}
	return found, nil
}

func bytes(text string) []byte {
	decoded, err := base64.StdEncoding.DecodeString(text)
	check(err)
	return decoded
}

func hash(text string) (h tlog.Hash) {
	copy(h[:], bytes(text))
	return h
}

func hashes(texts []string) (list []tlog.Hash) {
	for _, text := range texts {
		list = append(list, hash(text))
	}
	return list
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func same(a, b []tlog.Hash) error {
	if fmt.Sprint(a) != fmt.Sprint(b) {
		return fmt.Errorf("another proof: %v instead of %v", b, a)
	}
	return nil
}

// opened returns a checkpoint whose signatures are verified, and its tree.
func opened(checkpoint []byte, verifiers ...note.Verifier) (*note.Note, tlog.Tree) {
	signed, err := note.Open(checkpoint, note.VerifierList(verifiers...))
	check(err)
	lines := strings.Split(signed.Text, "\n")
	var size int64
	_, err = fmt.Sscan(lines[1], &size)
	check(err)
	return signed, tlog.Tree{N: size, Hash: hash(lines[2])}
}

// treeOf returns the hashes of the tree of some entries, and checks its root.
func treeOf(entries [][]byte, tree tlog.Tree) tlog.HashReader {
	var stored []tlog.Hash
	memory := tlog.HashReaderFunc(func(indexes []int64) (list []tlog.Hash, err error) {
		for _, index := range indexes {
			list = append(list, stored[index])
		}
		return list, nil
	})
	for at, entry := range entries {
		more, err := tlog.StoredHashes(int64(at), entry, memory)
		check(err)
		stored = append(stored, more...)
	}
	root, err := tlog.TreeHash(tree.N, memory)
	check(err)
	if root != tree.Hash {
		check(fmt.Errorf("another root: %v", root))
	}
	return memory
}

func print(results map[string]interface{}) { check(json.NewEncoder(os.Stdout).Encode(results)) }

func main() {
	if len(os.Args) > 2 {
		verifyServed(readAt(os.Args[1]), os.Args[2], os.Args[3:])
	} else {
		verifyFolder(os.Args[1])
	}
}

// entriesOf splits a bundle (c2sp.org/tlog-tiles): each entry follows its length in two bytes.
func entriesOf(bundle []byte) (entries [][]byte) {
	for len(bundle) > 0 {
		size := 2 + int(binary.BigEndian.Uint16(bundle))
		entries = append(entries, bundle[2:size])
		bundle = bundle[size:]
	}
	return entries
}

// verifyServed verifies a checkpoint, all bundles and tiles of its tree, and the proofs of some leaves.
func verifyServed(read read, key string, leaves []string) {
	verifier, err := note.NewVerifier(key)
	check(err)
	get := func(path string) []byte {
		content, err := read(path)
		check(err)
		return content
	}
	_, tree := opened(get("checkpoint"), verifier)

	var entries [][]byte
	for int64(len(entries)) < tree.N {
		tile := tlog.Tile{H: 8, L: -1, N: int64(len(entries)) / 256, W: 256}
		if left := tree.N - int64(len(entries)); left < 256 {
			tile.W = int(left)
		}
		bundle := entriesOf(get(pathOf(tile)))
		if len(bundle) != tile.W {
			check(fmt.Errorf("%s has %d entries", pathOf(tile), len(bundle)))
		}
		entries = append(entries, bundle...)
	}
	memory := treeOf(entries, tree)
	paths := []string{}
	for _, tile := range tlog.NewTiles(8, 0, tree.N) {
		made, err := tlog.ReadTileData(tile, memory)
		check(err)
		if string(get(pathOf(tile))) != string(made) {
			check(fmt.Errorf("other hashes: %s", pathOf(tile)))
		}
		paths = append(paths, pathOf(tile))
	}

	positions := map[string]int64{}
	for at, entry := range entries {
		leaf := tlog.RecordHash(entry)
		positions[hex.EncodeToString(leaf[:])] = int64(at)
	}
	reader := tlog.TileHashReader(tree, tiles{read})
	for _, leaf := range leaves {
		// The text of c2sp.org/tlog-proof: a header, the index, the hashes, an empty line, the checkpoint.
		text := string(get("proof/" + leaf))
		end := strings.Index(text, "\n\n")
		if end < 0 {
			check(fmt.Errorf("a proof without an empty line: %q", text))
		}
		lines, checkpoint := strings.Split(text[:end], "\n"), text[end+2:]
		index, known := positions[leaf]
		if !known || len(lines) < 2 || lines[0] != "c2sp.org/tlog-proof@v1" || lines[1] != fmt.Sprintf("index %d", index) {
			check(fmt.Errorf("the proof of %s, entry %d, starts with %q", leaf, index, lines))
		}
		if _, proved := opened([]byte(checkpoint), verifier); proved != tree {
			check(fmt.Errorf("a proof in another tree: %v", proved))
		}
		made, err := tlog.ProveRecord(tree.N, index, reader)
		check(err)
		check(same(made, hashes(lines[2:])))
		check(tlog.CheckRecord(hashes(lines[2:]), tree.N, tree.Hash, index, tlog.RecordHash(entries[index])))
	}
	print(map[string]interface{}{"size": len(entries), "tiles": paths, "proofs": len(leaves)})
}

func verifyFolder(folder string) {
	files := readFrom(folder)
	content, err := files("cases.json")
	check(err)
	var c Case
	check(json.Unmarshal(content, &c))

	// The checkpoint, with the signatures of log and witness.
	verifier, err := note.NewVerifier(c.VerifierKey)
	check(err)
	checkpoint, err := files("checkpoint")
	check(err)
	signed, tree := opened(checkpoint, verifier, c.Witness)

	// The tree of the entries, and its tiles, which the reader verifies against the root.
	var entries [][]byte
	for _, entry := range c.Entries {
		entries = append(entries, bytes(entry))
	}
	treeOf(entries, tree)
	reader := tlog.TileHashReader(tree, tiles{files})
	for _, proof := range c.Proofs {
		made, err := tlog.ProveRecord(tree.N, proof.Index, reader)
		check(err)
		check(same(made, hashes(proof.Hashes)))
		leaf := tlog.RecordHash(entries[proof.Index])
		check(tlog.CheckRecord(hashes(proof.Hashes), tree.N, tree.Hash, proof.Index, leaf))
	}
	for _, proof := range c.Trees {
		made, err := tlog.ProveTree(tree.N, proof.Size, reader)
		check(err)
		check(same(made, hashes(proof.Hashes)))
		check(tlog.CheckTree(hashes(proof.Hashes), tree.N, tree.Hash, proof.Size, hash(proof.Root)))
	}

	// The same note, signed by this program.
	signer, err := note.NewSigner(c.SignerKey)
	check(err)
	again, err := note.Sign(&note.Note{Text: signed.Text}, signer)
	check(err)
	print(map[string]interface{}{
		"signatures": len(signed.Sigs), "proofs": len(c.Proofs), "trees": len(c.Trees), "signed": string(again),
	})
}
