// A host of a WEBHOOK policy: go run host.go, with SIGNING_KEY as creating the policy answered it.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

var members = map[string]bool{"0x1234567890123456789012345678901234567890": true}

// verify says whether a request comes from the paymaster service. The body is as received. signingKey is the text that
// creating the policy answered; the text itself is the key, it is not decoded.
func verify(r *http.Request, body []byte, signingKey string, now time.Time) bool {
	timestamp := r.Header.Get("X-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	kind := "live"
	if r.Header.Values("X-Test-Delivery") != nil {
		kind = "test"
	}
	signed := []string{"v2", timestamp, r.Header.Get("X-Policy-Id"), kind, r.Method, r.RequestURI, ""}
	mac := hmac.New(sha256.New, []byte(signingKey))
	mac.Write([]byte(strings.Join(signed, "\n")))
	mac.Write(body)
	expected := []byte("v2=" + hex.EncodeToString(mac.Sum(nil)))
	return hmac.Equal([]byte(r.Header.Get("X-Signature")), expected) ||
		hmac.Equal([]byte(r.Header.Get("X-Signature-Next")), expected)
}

func main() {
	signingKey, port := os.Getenv("SIGNING_KEY"), os.Getenv("WEBHOOK_PORT")
	if signingKey == "" {
		log.Fatal("set SIGNING_KEY to the signingKey that creating the policy answered")
	}
	if port == "" {
		port = "9000"
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<20))
		if err != nil || !verify(r, body, signingKey, time.Now()) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var asked struct{ UserOp struct{ Sender string } }
		_ = json.Unmarshal(body, &asked)
		answer := map[string]any{"arePoliciesVerified": true}
		if !members[strings.ToLower(asked.UserOp.Sender)] {
			answer = map[string]any{"arePoliciesVerified": false, "reason": "not a member of the club"}
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("webhook host at http://127.0.0.1:" + port)
	log.Fatal(http.Serve(listener, nil))
}
