// text() and set_text(): fields of messages that hold text, such as `char name[16]`.
#ifndef HORUS_TEXT_HPP
#define HORUS_TEXT_HPP

#include <cstddef>
#include <string_view>

namespace horus {

/// Returns the text of a field: its bytes up to the first NUL, or all of them if there is none.
///
/// The bytes were written by any program: they need not be UTF-8.
template <std::size_t N>
constexpr std::string_view text(const char (&field)[N]) noexcept {
    std::size_t length = 0;
    while (length < N && field[length] != 0) {
        ++length;
    }
    return {field, length};
}

/// Copies a text into a field, and fills the rest with NUL. Returns false if the text is longer than
/// the field; then the field is unchanged.
template <std::size_t N>
[[nodiscard]] constexpr bool set_text(char (&field)[N], std::string_view text) noexcept {
    if (text.size() > N) {
        return false;
    }
    for (std::size_t index = 0; index < N; ++index) {
        field[index] = index < text.size() ? text[index] : '\0';
    }
    return true;
}

}  // namespace horus

#endif  // HORUS_TEXT_HPP
