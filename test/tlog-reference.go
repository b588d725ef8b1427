// Verifies a log with the reference implementation, golang.org/x/mod/sumdb: note, and tlog. Reads a folder
// with its files and cases.json, and prints what it computed as JSON (tlog-reference.system.test.ts).
package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
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

// tiles of 256 hashes, without the height in their path.
type tiles struct{ folder string }

func (t tiles) Height() int                     { return 8 }
func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}
func (t tiles) ReadTiles(wanted []tlog.Tile) (found [][]byte, err error) {
	for _, tile := range wanted {
		path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
		content, err := os.ReadFile(filepath.Join(t.folder, path))
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

func main() {
	folder := os.Args[1]
	content, err := os.ReadFile(filepath.Join(folder, "cases.json"))
	check(err)
	var c Case
	check(json.Unmarshal(content, &c))

	// The checkpoint, with the signatures of log and witness.
	verifier, err := note.NewVerifier(c.VerifierKey)
	check(err)
	checkpoint, err := os.ReadFile(filepath.Join(folder, "checkpoint"))
	check(err)
	opened, err := note.Open(checkpoint, note.VerifierList(verifier, c.Witness))
	check(err)
	lines := strings.Split(opened.Text, "\n")
	var size int64
	_, err = fmt.Sscan(lines[1], &size)
	check(err)
	tree := tlog.Tree{N: size, Hash: hash(lines[2])}

	// The tree of the entries, and its tiles, which the reader verifies against the root.
	var stored []tlog.Hash
	memory := tlog.HashReaderFunc(func(indexes []int64) (list []tlog.Hash, err error) {
		for _, index := range indexes {
			list = append(list, stored[index])
		}
		return list, nil
	})
	for at, entry := range c.Entries {
		more, err := tlog.StoredHashes(int64(at), bytes(entry), memory)
		check(err)
		stored = append(stored, more...)
	}
	root, err := tlog.TreeHash(size, memory)
	check(err)
	if root != tree.Hash {
		check(fmt.Errorf("another root: %v", root))
	}
	reader := tlog.TileHashReader(tree, tiles{folder})
	for _, proof := range c.Proofs {
		made, err := tlog.ProveRecord(size, proof.Index, reader)
		check(err)
		check(same(made, hashes(proof.Hashes)))
		leaf := tlog.RecordHash(bytes(c.Entries[proof.Index]))
		check(tlog.CheckRecord(hashes(proof.Hashes), size, tree.Hash, proof.Index, leaf))
	}
	for _, proof := range c.Trees {
		made, err := tlog.ProveTree(size, proof.Size, reader)
		check(err)
		check(same(made, hashes(proof.Hashes)))
		check(tlog.CheckTree(hashes(proof.Hashes), size, tree.Hash, proof.Size, hash(proof.Root)))
	}

	// The same note, signed by this program.
	signer, err := note.NewSigner(c.SignerKey)
	check(err)
	signed, err := note.Sign(&note.Note{Text: opened.Text}, signer)
	check(err)
	check(json.NewEncoder(os.Stdout).Encode(map[string]interface{}{
		"signatures": len(opened.Sigs), "proofs": len(c.Proofs), "trees": len(c.Trees), "signed": string(signed),
	}))
}
